import JSON
import PipelineKit

/// The notification infos of all subscriptions, each kept once: many subscriptions of an app have the same.
struct NotificationInfos {
    struct Info {
        /// As it was written.
        let text: [UInt8]
        /// In the order in which matches hold them.
        let copied: [CopiedField]
        fileprivate let hash: Int
        fileprivate var users: Int
    }

    /// A field that notifications need.
    struct CopiedField {
        let name: [UInt8]
        /// `"title":`
        let key: [UInt8]
        /// Desired keys have no place in a delete's notification; localization arguments have.
        let isForDeletes: Bool
    }

    static let none: Int32 = -1

    private var infos: [Info] = []
    private var free: [Int32] = []
    private var numbers = HashedNumbers()

    subscript(number: Int32) -> Info { infos[Int(number)] }

    /// Counts one more that has it.
    ///
    /// - Throws: When it names fields in no way that it may.
    mutating func add(_ info: JSONValue?) throws(Rejection) -> Int32 {
        guard let info else { return NotificationInfos.none }
        let hash = unsafe ByteHash.of(info.raw)
        if let number = numbers.find(hash, where: { unsafe isSame($0, info.raw) }) {
            infos[Int(number)].users += 1
            return number
        }
        let copied = try NotificationInfo.copiedFields(info)
        let number = free.popLast() ?? Int32(infos.count)
        let new = unsafe Info(text: Array(info.raw), copied: copied, hash: hash, users: 1)
        if Int(number) == infos.count { infos.append(new) } else { infos[Int(number)] = new }
        numbers.insert(number, hash)
        return number
    }

    mutating func remove(_ number: Int32) {
        guard number != NotificationInfos.none else { return }
        infos[Int(number)].users -= 1
        guard infos[Int(number)].users == 0 else { return }
        numbers.remove(number, infos[Int(number)].hash)
        infos[Int(number)] = Info(text: [], copied: [], hash: 0, users: 0)
        free.append(number)
    }

    private func isSame(_ number: Int32, _ text: UnsafeRawBufferPointer) -> Bool {
        unsafe infos[Int(number)].text.withUnsafeBytes { unsafe $0.isSame(as: text) }
    }
}
