import Glibc

/// Repeats a call as long as signals interrupt it.
///
/// - Parameter call: Returns -1 and sets `errno` where it fails.
package func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
