import Glibc

/// The sanitizers of this build.
package enum Sanitizer {
    /// Whether the tests, and the programs of Belfry that they start, run under the thread sanitizer.
    package static let isThread = dlsym(nil, "__tsan_init") != nil
    /// Whether the tests, and the programs of Belfry that they start, run under the address sanitizer.
    package static let isAddress = dlsym(nil, "__asan_init") != nil
}
