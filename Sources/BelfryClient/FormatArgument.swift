import Foundation
import Synchronization

/// Makes a value usable as a `%@` argument of `String(format:)`, for which Foundation on Linux accepts only its own
/// classes.
///
/// Keeps the strings in memory, because `String(format:)` does not.
final class FormatArgument: Sendable {
    private let strings = Mutex<[NSString]>([])

    func encoding(of text: String) -> [Int] {
        strings.withLock { strings in
            if let known = strings.first(where: { $0.isEqual(to: text) }) {
                return known._cVarArgEncoding
            }
            let added = NSString(string: text)
            strings.append(added)
            return added._cVarArgEncoding
        }
    }
}
