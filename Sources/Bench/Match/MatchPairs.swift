import Foundation
import Signing

/// Which subscriptions watch which changes, as lines `<index of the change, from 0> <subscription ID>`, by index, then by
/// ID: their number, and the SHA-256 of all of them, each with its line feed.
struct MatchPairs {
    private(set) var pairs = 0
    /// Changes that somebody watches.
    private(set) var watched = 0
    private var hash = SHA256()
    private var ids: [[UInt8]] = []
    /// Subscriptions that do not count.
    private let ignored: Set<[UInt8]>
    /// All lines, where they are kept.
    private(set) var text = Data()
    private let keepsText: Bool

    init(ignoring ignored: Set<[UInt8]> = [], keepsText: Bool = false) {
        (self.ignored, self.keepsText) = (ignored, keepsText)
    }

    /// Takes note of one that watches the change that is ended next.
    mutating func add(_ id: borrowing [UInt8]) {
        let id = copy id
        if !ignored.contains(id) { ids.append(id) }
    }

    mutating func end(change index: Int) {
        ids.sort { $0.lexicographicallyPrecedes($1) }
        for id in ids {
            let line = Array("\(index) ".utf8) + id + [UInt8(ascii: "\n")]
            line.withUnsafeBytes { hash.update($0) }
            if keepsText { text.append(contentsOf: line) }
        }
        pairs += ids.count
        watched += ids.isEmpty ? 0 : 1
        ids.removeAll(keepingCapacity: true)
    }

    /// In hexadecimal; of all that was ended so far.
    var digest: String { hash.digest.hexadecimal }
}
