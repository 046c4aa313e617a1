import CloudKitModel
import Events
import JSON

/// The DELETE_SELF references and the assets in the fields of a record.
struct RecordLinks {
    /// The kinds of links that a record has, and whether its fields name their types. The column `links` contains them.
    struct Kinds: OptionSet {
        let rawValue: Int64

        static let references = Kinds(rawValue: 1)
        static let assets = Kinds(rawValue: 2)
        /// Each field names its type. In rows from older versions, this flag may be missing although all fields name
        /// their types.
        static let types = Kinds(rawValue: 4)

        var hasLinks: Bool { !isDisjoint(with: [.references, .assets]) }
    }

    /// ``RecordTarget``s of references with the action DELETE_SELF.
    private(set) var targets: [[UInt8]] = []
    /// The checksums of assets, as JSON strings.
    private(set) var checksums: [JSONValue] = []
    private var namesAllTypes = true

    /// - Parameter fields: The field dictionaries by name. The links are valid while the text of `fields` is valid.
    init(of fields: JSONValue?, in zone: ZoneRow) {
        guard let fields else { return }
        for (_, field) in fields.members {
            if field[.type] == nil { namesAllTypes = false }
            guard let value = field[.value] else { continue }
            if value.isObject { addLinks(of: value, in: field, zone) }
            for element in value.elements where element.isObject { addLinks(of: element, in: field, zone) }
        }
    }

    private mutating func addLinks(of value: JSONValue, in field: JSONValue, _ zone: ZoneRow) {
        if let checksum = value["fileChecksum"], checksum.isString { checksums.append(checksum) }
        guard Reference.deletesSelf(value, in: field) else { return }
        if let target = RecordTarget.bytes(of: value, in: zone) { targets.append(target) }
    }

    var kinds: Kinds {
        (targets.isEmpty ? [] : Kinds.references).union(checksums.isEmpty ? [] : Kinds.assets)
            .union(namesAllTypes ? Kinds.types : [])
    }
}
