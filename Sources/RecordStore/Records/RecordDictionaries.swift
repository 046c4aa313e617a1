import CloudKitModel
import Events
import JSON

/// Writes records in the form that CloudKit Web Services returns (Record Dictionary).
///
/// A field whose writer named no type gets the type that its value shows, as in CloudKit's answers.
package struct RecordDictionaries: ~Copyable {
    /// The fields to write; nil for all.
    private let desiredKeys: Set<ExactText>?
    /// Whether INT64 and DOUBLE values are written as strings.
    private let numbersAsStrings: Bool
    private let assetURL: AssetURL?
    private var parser = JSONParser(limits: StoredJSON.limits)

    /// Makes the download URL of the asset that has this checksum.
    package typealias AssetURL = @Sendable (_ checksum: String) -> String

    /// - Parameter assetURL: Makes the `downloadURL` of assets; nil if assets are written as they are stored.
    package init(desiredKeys: [String]? = nil, numbersAsStrings: Bool = false, assetURL: AssetURL? = nil) {
        self.desiredKeys = desiredKeys.map { Set($0.map { ExactText($0) }) }
        self.numbersAsStrings = numbersAsStrings
        self.assetURL = assetURL
    }

    /// Appends the record, or `{"recordName":…,"deleted":true,"zoneID":…}` for a deleted record.
    package mutating func append(_ record: StoredRecord, to buffer: inout ByteBuffer) {
        buffer.append("{")
        buffer.append(.recordName, record.name)
        if let fields = record.fields {
            appendLiving(record, fields, to: &buffer)
        } else {
            buffer.append("deleted", true)
        }
        buffer.append(member: .zoneID)
        record.zone.write(to: &buffer, in: record.database)
        buffer.append("}")
    }

    private mutating func appendLiving(_ record: StoredRecord, _ fields: [UInt8], to buffer: inout ByteBuffer) {
        buffer.append(.recordType, record.type)
        buffer.append(member: .fields)
        let isComplete = record.namesAllTypes && (!record.hasAssets || assetURL == nil)
        fields.withUnsafeBytes { append(fields: $0, isComplete, to: &buffer) }
        buffer.append("pluginFields", raw: "{}")
        record.system.append(to: &buffer)
        buffer.append("deleted", false)
        if let others = record.others { buffer.append(raw: "," + others) }
    }

    /// - Parameter isComplete: Whether nothing has to be added to the fields: no type, and no download URL of an asset.
    private mutating func append(fields: UnsafeRawBufferPointer, _ isComplete: Bool, to buffer: inout ByteBuffer) {
        guard desiredKeys != nil || numbersAsStrings || !isComplete else { return buffer.append(fields) }
        do {
            let parsed = try parser.parse(fields)
            buffer.object { buffer in
                for (name, field) in parsed.members where isDesired(name) {
                    buffer.append(key: name.string ?? "")
                    append(field: field, to: &buffer)
                }
            }
        } catch { preconditionFailure("the stored fields of a record are not JSON: \(error)") }
    }

    private func isDesired(_ name: JSONValue) -> Bool {
        guard let desiredKeys else { return true }
        return name.exact.map { desiredKeys.contains($0) } ?? false
    }

    private func append(field: JSONValue, to buffer: inout ByteBuffer) {
        guard let value = field[.value] else { return buffer.append(field.raw) }
        let type = field[.type] == nil ? value.inferredFieldType : nil
        if let assetURL, value.holdsAssets {
            field.append(to: &buffer, value, type) { $0.append(asset: $1, assetURL) }
        } else if numbersAsStrings, field.mayHoldPlainNumbers {
            field.append(to: &buffer, value, type) { $0.append(asString: $1) }
        } else if let type {
            buffer.append(UnsafeRawBufferPointer(rebasing: field.raw.dropLast()))
            buffer.append(.type, type)
            buffer.append("}")
        } else {
            buffer.append(field.raw)
        }
    }
}

private let checksumKey: StaticString = "fileChecksum"

extension ByteBuffer {
    fileprivate mutating func append(asString value: JSONValue) {
        guard value.isNumber else { return append(value.raw) }
        append("\"")
        append(value.raw)
        append("\"")
    }

    fileprivate mutating func append(asset: JSONValue, _ url: RecordDictionaries.AssetURL) {
        guard let checksum = asset[checksumKey]?.string else { return append(asset.raw) }
        object { buffer in
            for (name, value) in asset.members where !name.equals("downloadURL") {
                buffer.append(key: name.string ?? "")
                buffer.append(value.raw)
            }
            buffer.append("downloadURL", url(checksum))
        }
    }
}

extension JSONValue {
    /// Appends this field; `write` appends its value, or each element of a list.
    ///
    /// - Parameter type: The type to add to a field that names no type; nil if no type is added.
    fileprivate func append(
        to buffer: inout ByteBuffer, _ value: JSONValue, _ type: String?,
        _ write: (inout ByteBuffer, JSONValue) -> Void
    ) {
        buffer.object { buffer in
            buffer.append(member: .value)
            if value.isArray { buffer.list(value.elements, write) } else { write(&buffer, value) }
            buffer.append(.type, self[.type])
            buffer.append(.type, type)
        }
    }

    /// Whether a field's value is an asset, or a list with an asset.
    fileprivate var holdsAssets: Bool {
        self[checksumKey] != nil || elements.contains { $0[checksumKey] != nil }
    }

    /// Whether a field may hold INT64 or DOUBLE values, not timestamps.
    fileprivate var mayHoldPlainNumbers: Bool {
        guard let type = self[.type] else { return true }
        return ["INT64", "DOUBLE", "NUMBER_INT64", "INT64_LIST", "DOUBLE_LIST", "NUMBER_INT64_LIST"].contains {
            type.equals($0)
        }
    }
}

extension SystemValues {
    /// Appends `"recordChangeTag"`, `"created"` and `"modified"`.
    func append(to buffer: inout ByteBuffer) {
        buffer.append(.recordChangeTag, ChangeTag(sequence: sequence).text)
        created.append(to: &buffer, as: RecordStamp.created)
        modified.append(to: &buffer, as: "modified")
    }
}

extension RecordStamp {
    /// The member of a record dictionary that says when and by whom the record was created.
    package static let created: Member = "created"

    package func append(to buffer: inout ByteBuffer, as member: Member) {
        buffer.append(member: member)
        buffer.object {
            $0.append("timestamp", milliseconds)
            $0.append("userRecordName", user)
            $0.append("deviceID", device)
        }
    }
}

/// The JSON in the store.
enum StoredJSON {
    /// More than the text of any record or event: an event has at most 2 MiB.
    static let limits = JSONLimits(bytesMax: 16 << 20)
}
