import Glibc

/// What the tests were built with.
public enum Sanitizer {
    /// Whether the thread sanitizer watches; it also watches the programs that the tests start.
    public static let isThread = dlsym(nil, "__tsan_init") != nil
}
