package onceward

// KeyBytesMax is the longest key, derived or given by the caller, in bytes.
const KeyBytesMax = 255
