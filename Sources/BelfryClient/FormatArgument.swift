import Foundation
import Synchronization

/// Makes a value usable as a `%@` argument of `String(format:)`, where Foundation on Linux accepts only its own classes.
///
/// Keeps the texts alive, because `String(format:)` does not.
final class FormatArgument: Sendable {
    private let texts = Mutex<[NSString]>([])

    func encoding(of text: String) -> [Int] {
        texts.withLock { texts in
            if let known = texts.first(where: { $0.isEqual(to: text) }) {
                return known._cVarArgEncoding
            }
            let added = NSString(string: text)
            texts.append(added)
            return added._cVarArgEncoding
        }
    }
}
