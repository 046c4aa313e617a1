import Foundation

/// A field's value in a payload, under `af`. Belfry writes only texts, numbers, locations and references.
enum RecordFieldValue: Sendable {
    case null
    case text(String)
    case number(NSNumber)
    case location(CLLocation)
    case reference(CKReference)
    case list([RecordFieldValue])
    /// A dictionary that is neither a location nor a reference.
    case dictionary([String: RecordFieldValue])

    /// - Parameter zoneID: The zone of references that do not name a zone.
    static func read(_ fields: PayloadDictionary, in zoneID: CKRecordZone.ID) -> [String: RecordFieldValue] {
        var values: [String: RecordFieldValue] = [:]
        for (key, value) in fields.members {
            if let key = key.base as? String { values[key] = RecordFieldValue(value, in: zoneID) }
        }
        return values
    }

    private init(_ value: Any, in zoneID: CKRecordZone.ID) {
        switch value {
        case let text as String: self = .text(text)
        case let number as NSNumber: self = .number(number)
        case let list as [Any]: self = .list(list.map { RecordFieldValue($0, in: zoneID) })
        case let members as [AnyHashable: Any]:
            self = RecordFieldValue(object: PayloadDictionary(members: members), in: zoneID)
        default: self = .null
        }
    }

    private init(object: PayloadDictionary, in zoneID: CKRecordZone.ID) {
        if let latitude = object.number("latitude"), let longitude = object.number("longitude") {
            self = .location(CLLocation(latitude: latitude.doubleValue, longitude: longitude.doubleValue))
        } else if let name = object.text("recordName") {
            let zoneID = object.dictionary("zoneID").flatMap(\.zoneOfReference) ?? zoneID
            let action = CKRecord.ReferenceAction(word: object.text("action"))
            self = .reference(
                CKReference(recordID: CKRecord.ID(recordName: name, zoneID: zoneID), action: action))
        } else {
            self = .dictionary(RecordFieldValue.read(object, in: zoneID))
        }
    }

    /// The value with the type that an app expects.
    var value: Any {
        switch self {
        case .null: NSNull()
        case .text(let text): text
        case .number(let number): number
        case .location(let location): location
        case .reference(let reference): reference
        case .list(let list): list.map(\.value)
        case .dictionary(let members): members.mapValues(\.value)
        }
    }
}

extension PayloadDictionary {
    fileprivate var zoneOfReference: CKRecordZone.ID? {
        text("zoneName").map {
            CKRecordZone.ID(zoneName: $0, ownerName: text("ownerRecordName") ?? CKCurrentUserDefaultName)
        }
    }
}
