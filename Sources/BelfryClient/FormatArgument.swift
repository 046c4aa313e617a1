import Foundation
import Synchronization

/// What `String(format:)` is given for `%@`: Foundation on Linux takes only its own classes there.
///
/// Keeps the texts that it gave: whoever formats them does not.
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
