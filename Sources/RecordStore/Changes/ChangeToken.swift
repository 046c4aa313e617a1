import CloudKitModel
import Time

/// How far a client has read the changes of a zone or database.
///
/// The token names positions in the log, not rows, so rebuilt stores and other gateways accept it.
struct ChangeToken: Hashable, Sendable {
    var log: LogIdentity
    /// The client has all changes up to this sequence.
    var position: UInt64
    /// The last sequence in the store when a client without a token began to read. The client needs no deletions up to
    /// this sequence. 0 for a client that began with a token, or that has read all pages.
    var began: UInt64
    /// Set between the pages of a read in reverse.
    var reverse: Reverse?

    /// A read from the newest change back to `position`.
    struct Reverse: Hashable, Sendable {
        /// The next page has the changes before this sequence.
        var below: UInt64
        /// The last sequence in the store when the first page was read. The client gets later changes only after the
        /// last page of the read in reverse.
        var top: UInt64
    }

    /// The client needs no deletions up to this sequence.
    var settled: UInt64 { max(position, began) }

    private static let version: UInt8 = 1

    /// - Parameter zone: Nil for a token of the whole database.
    func text(for zone: ZoneKey?, in database: DatabaseID) -> String {
        var out = OpaqueText(version: ChangeToken.version)
        for number in [log.high, log.low, position, began] { out.append(number) }
        if let reverse {
            out.append(reverse.below)
            out.append(reverse.top)
        }
        return out.text(for: ChangeToken.purpose(zone, database))
    }

    /// Nil if the text was not made by ``text(for:in:)`` for the same zone and database. A client can forge a text that
    /// passes this check. Even then, the next page of a read in reverse never has changes after ``Reverse/top``.
    init?(_ text: String, for zone: ZoneKey?, in database: DatabaseID) {
        let purpose = ChangeToken.purpose(zone, database)
        guard var read = OpaqueText.Reader(text, version: ChangeToken.version, for: purpose), let high = read.number(),
            let low = read.number(), let position = read.number(), let began = read.number()
        else { return nil }
        self.init(log: LogIdentity(high: high, low: low), position: position, began: began)
        if let below = read.number(), let top = read.number() {
            guard below > 0, below - 1 <= top else { return nil }
            reverse = Reverse(below: below, top: top)
        }
        guard read.isAtEnd else { return nil }
    }

    init(log: LogIdentity, position: UInt64, began: UInt64 = 0) {
        (self.log, self.position, self.began) = (log, position, began)
    }

    private static func purpose(_ zone: ZoneKey?, _ database: DatabaseID) -> [UInt8] {
        let purpose = OpaqueText.purpose("changes", database)
        guard let zone else { return purpose }
        return purpose + Array("\u{0}\(zone.name)\u{0}\(zone.owner ?? "")".utf8)
    }
}
