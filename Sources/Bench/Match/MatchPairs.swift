import Foundation
import Signing

/// The number and the SHA-256 of all pairs of a change and a subscription that watches it.
///
/// The hash covers one line for each pair, `<index of the change, from 0> <subscription ID>`, sorted by index, then by
/// ID.
struct MatchPairs {
    private(set) var pairs = 0
    /// The number of changes that at least one subscription watches.
    private(set) var watched = 0
    private var hash = SHA256()
    private var ids: [[UInt8]] = []
    /// The IDs of the subscriptions whose pairs are left out.
    private let ignored: Set<[UInt8]>
    /// All lines; empty unless `keepsText` is set.
    private(set) var text = Data()
    private let keepsText: Bool

    init(ignoring ignored: Set<[UInt8]> = [], keepsText: Bool = false) {
        (self.ignored, self.keepsText) = (ignored, keepsText)
    }

    /// Adds a subscription that watches the current change.
    mutating func add(_ id: borrowing [UInt8]) {
        let id = copy id
        if !ignored.contains(id) { ids.append(id) }
    }

    /// Ends the current change.
    mutating func finish(change index: Int) {
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

    /// The SHA-256 of the pairs of all finished changes, in hexadecimal.
    var digest: String { hash.digest.hexadecimal }
}

extension [UInt8] {
    /// Two digits a byte, in lower case.
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
