import Glibc

/// What the tests were built with.
package enum Sanitizer {
    /// Whether the thread sanitizer watches; it also watches the programs that the tests start.
    package static let isThread = dlsym(nil, "__tsan_init") != nil
}
