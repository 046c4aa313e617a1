import Foundation

/// A whole payload or a dictionary inside it.
struct PayloadDictionary {
    let members: [AnyHashable: Any]

    func dictionary(_ key: String) -> PayloadDictionary? {
        (members[key] as? [AnyHashable: Any]).map(PayloadDictionary.init)
    }

    func text(_ key: String) -> String? { members[key] as? String }

    func number(_ key: String) -> NSNumber? { members[key] as? NSNumber }

    func integer(_ key: String) -> Int? { number(key)?.intValue }

    /// The arguments of a localized text; numbers are converted to text.
    func arguments(_ key: String) -> [String]? {
        (members[key] as? [Any])?.map { $0 as? String ?? ($0 as? NSNumber)?.stringValue ?? "\($0)" }
    }

    /// The zone of a change; nil if its name or owner is missing.
    var zoneID: CKRecordZone.ID? {
        guard let zoneName = text("zid"), let ownerName = text("zoid") else { return nil }
        return CKRecordZone.ID(zoneName: zoneName, ownerName: ownerName)
    }
}
