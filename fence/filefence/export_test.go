package filefence

// OnStep has fn called before each step of a replacement.
func OnStep(fn func(string)) { step = fn }
