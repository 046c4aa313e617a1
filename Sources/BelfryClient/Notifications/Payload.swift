import Foundation

/// A dictionary of a payload.
struct Payload {
    let members: [AnyHashable: Any]

    func dictionary(_ key: String) -> Payload? { (members[key] as? [AnyHashable: Any]).map(Payload.init) }

    func text(_ key: String) -> String? { members[key] as? String }

    func number(_ key: String) -> NSNumber? { members[key] as? NSNumber }

    func integer(_ key: String) -> Int? { number(key)?.intValue }

    /// What stands for the variables of a localized text: texts, and numbers as text.
    func arguments(_ key: String) -> [String]? {
        (members[key] as? [Any])?.map { $0 as? String ?? ($0 as? NSNumber)?.stringValue ?? "\($0)" }
    }

    /// The zone whose name stands under `name`, and its owner under `owner`; nil if one is missing.
    func zoneID(name: String, owner: String) -> CKRecordZone.ID? {
        guard let zoneName = text(name), let ownerName = text(owner) else { return nil }
        return CKRecordZone.ID(zoneName: zoneName, ownerName: ownerName)
    }
}
