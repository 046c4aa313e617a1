import JSON
import PipelineKit

/// The notification infos of all subscriptions. Equal infos are stored once, because many subscriptions of an app have
/// the same info.
struct NotificationInfos {
    struct Info {
        let text: [UInt8]
        /// The fields that a match copies from the record, in the order in which the match lists the copies.
        let copied: [CopiedField]
        fileprivate let hash: Int
        fileprivate var uses: Int
    }

    struct CopiedField {
        let name: [UInt8]
        /// The key as JSON, for example `"title":`.
        let key: [UInt8]
        /// Whether a match also copies the field from a deleted record: true for localization arguments, false for
        /// fields that are only desired keys.
        let isAlsoForDeletes: Bool
    }

    static let none: Int32 = -1

    private var infos: [Info] = []
    private var free: [Int32] = []
    private var numbers = HashedNumbers()

    subscript(number: Int32) -> Info { infos[Int(number)] }

    /// Adds an info, or counts one more use of it.
    ///
    /// - Throws: A rejection if the info's lists of field names are invalid.
    mutating func add(_ info: JSONValue?) throws(Rejection) -> Int32 {
        guard let info else { return NotificationInfos.none }
        let hash = unsafe ByteHash.of(info.raw)
        let known = numbers.find(hash) { number in
            unsafe infos[Int(number)].text.withUnsafeBytes { unsafe $0.isSame(as: info.raw) }
        }
        if let number = known {
            infos[Int(number)].uses += 1
            return number
        }
        let copied = try NotificationInfoReader.copiedFields(info)
        let number = free.popLast() ?? Int32(infos.count)
        let new = unsafe Info(text: Array(info.raw), copied: copied, hash: hash, uses: 1)
        if Int(number) == infos.count { infos.append(new) } else { infos[Int(number)] = new }
        numbers.insert(number, hash)
        return number
    }

    mutating func remove(_ number: Int32) {
        guard number != NotificationInfos.none else { return }
        infos[Int(number)].uses -= 1
        guard infos[Int(number)].uses == 0 else { return }
        numbers.remove(number, infos[Int(number)].hash)
        infos[Int(number)] = Info(text: [], copied: [], hash: 0, uses: 0)
        free.append(number)
    }
}
