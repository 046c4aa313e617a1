import BelfryClient
import TestSupport

/// A random record. Its fields have several types, and some values are long.
struct DrawnRecord {
    let number: Int
    let name: String
    let type = "Note"
    let zoneID: CKRecordZone.ID
    private(set) var fields: [String: DrawnField] = [:]

    init(_ number: Int, using random: inout Seeded) {
        self.number = number
        name = "record \(number) " + DrawnText.ascii(upTo: 200, using: &random)
        zoneID = CKRecordZone.ID(zoneName: "Zone " + DrawnText.ascii(upTo: 200, using: &random))
        for name in ["a", "b", "c", "d"] where !random.isOneIn(5) { fields[name] = DrawnField(using: &random) }
    }

    /// The zone's ID in a payload. The public database has only one zone. In these tests, the zones of private and
    /// shared databases belong to the user.
    func pushedZoneID(in scope: CKDatabase.Scope, of user: String) -> CKRecordZone.ID {
        guard scope == .public else { return CKRecordZone.ID(zoneName: zoneID.zoneName, ownerName: user) }
        return CKRecordZone.ID(zoneName: "_defaultZone", ownerName: "_defaultOwner")
    }

    var fieldsJSON: String {
        let members = fields.map { "\"\($0.key)\":\($0.value.json)" } + [#""n":{"value":\#(number),"type":"INT64"}"#]
        return "{\(members.joined(separator: ","))}"
    }

    func json(in scope: CKDatabase.Scope, of user: String, isDeleted: Bool) -> String {
        let zone =
            scope == .public
            ? "" : #","zoneID":{"zoneName":"\#(zoneID.zoneName)","ownerRecordName":"\#(user)"}"#
        let fields = isDeleted ? "" : ",\"fields\":\(fieldsJSON)"
        return #"{"recordName":"\#(name)","recordType":"\#(type)"\#(zone)\#(fields)}"#
    }
}

/// A random field of a record.
enum DrawnField {
    case text(String)
    case whole(Int)
    case fraction(Double)
    case date(milliseconds: Int)
    case location(Double, Double)
    case reference(String)
    case bytes

    init(using random: inout Seeded) {
        switch random.below(8) {
        case 0: self = .whole(random.below(1 << 50) - 1 << 49)
        case 1: self = .fraction(Double(random.below(1_000_000)) + random.one(of: [0.5, 0.25]))
        case 2: self = .date(milliseconds: random.below(2_000_000_000_000))
        case 3: self = .location(Double(random.below(180)) - 90 + 0.125, Double(random.below(360)) - 180)
        case 4: self = .reference(DrawnText.ascii(upTo: 255, using: &random))
        case 5: self = .bytes
        default: self = .text(DrawnText.any(upToAbout: 1_500, using: &random))
        }
    }

    var json: String {
        switch self {
        case .text(let text): #"{"value":\#(DrawnText.quoted(text)),"type":"STRING"}"#
        case .whole(let number): #"{"value":\#(number),"type":"INT64"}"#
        case .fraction(let number): #"{"value":\#(number),"type":"DOUBLE"}"#
        case .date(let milliseconds): #"{"value":\#(milliseconds),"type":"TIMESTAMP"}"#
        case .location(let latitude, let longitude):
            #"{"value":{"latitude":\#(latitude),"longitude":\#(longitude),"altitude":3},"type":"LOCATION"}"#
        case .reference(let name):
            #"{"value":{"recordName":"\#(name)","zoneID":{"zoneName":"Z","ownerRecordName":"_o"},"action":"DELETE_SELF"},"#
                + #""type":"REFERENCE"}"#
        case .bytes: #"{"value":"AAEC","type":"BYTES"}"#
        }
    }

    /// The value in a payload if the field is a desired key. Nil for strings (see ``desiredText``) and bytes.
    var desired: NSObject? {
        switch self {
        case .whole(let number), .date(let number): NSNumber(value: number)
        case .fraction(let number): NSNumber(value: number)
        case .location(let latitude, let longitude): CLLocation(latitude: latitude, longitude: longitude)
        case .reference(let name):
            CKReference(
                recordID: CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_o")),
                action: .deleteSelf)
        case .text, .bytes: nil
        }
    }

    /// The string in a payload if the field is a desired key: the first 100 characters. Nil for other types.
    var desiredText: String? {
        if case .text(let text) = self { String(text.prefix(100)) } else { nil }
    }

    /// The field's value as an argument of a localized string. Nil for a type that cannot be an argument.
    var argument: String? {
        switch self {
        case .text(let text): String(text.prefix(100))
        case .whole(let number), .date(let number): "\(number)"
        case .fraction(let number): "\(number)"
        case .location, .reference, .bytes: nil
        }
    }
}

enum DrawnInfo {
    static func draw(using random: inout Seeded) -> CKSubscription.NotificationInfo {
        let info = CKSubscription.NotificationInfo()
        let byteCount = random.isOneIn(3) ? 4_000 : 400
        let texts: [ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?>] = [
            \.alertBody, \.alertLocalizationKey, \.title, \.titleLocalizationKey, \.subtitle, \.subtitleLocalizationKey,
            \.alertActionLocalizationKey, \.alertLaunchImage, \.soundName, \.category,
        ]
        for text in texts where random.isOneIn(2) {
            info[keyPath: text] = DrawnText.any(upToAbout: byteCount, using: &random)
        }
        let lists: [ReferenceWritableKeyPath<CKSubscription.NotificationInfo, [CKRecord.FieldKey]?>] = [
            \.alertLocalizationArgs, \.titleLocalizationArgs, \.subtitleLocalizationArgs,
        ]
        for list in lists { info[keyPath: list] = ["a", "b", "c", "d", "e"].filter { _ in random.isOneIn(3) } }
        info.desiredKeys = Array(["a", "b", "c", "d", "e"].shuffled(using: &random).prefix(random.below(4)))
        info.shouldBadge = random.isOneIn(2)
        info.shouldSendContentAvailable = random.isOneIn(2)
        info.shouldSendMutableContent = random.isOneIn(2)
        return info
    }
}

enum DrawnText {
    private static let scripts = [
        "abc XYZ", "äöüß", "Ж ц", "漢字かな", "العربية", "👨‍👩‍👧‍👦🇦🇹👍🏽", "e\u{301}\u{323}", "\"\\/\u{1}\n\r\n\t\u{7F}", "नमस्ते",
    ]

    /// A random string that is never empty. Short strings are more frequent than long strings. The last character may
    /// go beyond `byteCount` bytes.
    static func any(upToAbout byteCount: Int, using random: inout Seeded) -> String {
        draw(from: random.one(of: scripts), upToAbout: byteCount, using: &random)
    }

    /// A random ASCII string of fewer than `bytesMax` - 10 bytes, so that a prefix of 10 bytes fits.
    static func ascii(upTo bytesMax: Int, using random: inout Seeded) -> String {
        draw(from: "abcXYZ019-.", upToAbout: bytesMax - 10, using: &random)
    }

    private static func draw(from letters: String, upToAbout byteCount: Int, using random: inout Seeded) -> String {
        let (bytes, letters) = (random.below(byteCount) >> random.below(4), Array(letters))
        var text = "x"
        while text.utf8.count < bytes { text.append(random.one(of: letters)) }
        return text
    }

    /// The text as a JSON string, with only the necessary escapes.
    static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.value < 0x20: "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
