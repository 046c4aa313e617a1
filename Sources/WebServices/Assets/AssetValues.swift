import Events
import JSON
import RecordStore
import StageTool
import Time

/// Checks the assets in the fields that a client saves, and keeps only the checksum and the size of each asset.
///
/// An asset is valid with the receipt of its upload, or if a record of the database refers to the asset's file. The
/// references of deleted records do not count. The size comes from the file. If the file is not in this gateway's
/// folder, the client's size is kept.
struct AssetValues {
    let tickets: AssetTickets
    let files: AssetFolder
    let store: RecordStore
    let database: DatabaseID
    let now: Instant

    /// Appends the fields in the form that ingest gets.
    func append(_ fields: JSONValue, to json: inout ByteBuffer) throws(ServiceError) {
        guard Self.mayHaveAssets(fields), fields.isObject else { return json.append(fields.raw) }
        json.append("{")
        for (name, field) in fields.members {
            json.append(key: name.string ?? "")
            do throws(ServiceError) { try append(field: field, to: &json) } catch {
                throw ServiceError(error.code, "record.fields.\(name.string ?? "").\(error.reason)")
            }
        }
        json.append("}")
    }

    private static let search = ByteSearch("fileChecksum")
    /// JSON may write `fileChecksum` with escapes.
    private static let escape = ByteSearch("\\u")

    /// Whether the fields may contain an asset, according to a search of their bytes.
    static func mayHaveAssets(_ fields: JSONValue) -> Bool {
        search.isFound(in: fields.raw) || escape.isFound(in: fields.raw)
    }

    private func append(field: JSONValue, to json: inout ByteBuffer) throws(ServiceError) {
        guard let value = field[.value] else { return json.append(field.raw) }
        let assets = value.isArray ? Array(value.elements) : [value]
        guard assets.contains(where: { $0.isObject && $0["fileChecksum"] != nil }) else {
            return json.append(field.raw)
        }
        let values = try assets.map { asset throws(ServiceError) in try text(of: asset) }
        json.object { json in
            json.append(.value, raw: value.isArray ? "[\(values.joined(separator: ","))]" : values[0])
            json.append(.type, field[.type])
        }
    }

    private func text(of asset: JSONValue) throws(ServiceError) -> String {
        guard let checksum = asset["fileChecksum"]?.string, AssetFolder.isChecksum(checksum) else {
            throw .bad("value.fileChecksum: it is missing or is not a checksum from the answer to an upload")
        }
        // Before the store is asked, so that the file stays if the record that refers to it is deleted meanwhile.
        files.keep(checksum)
        let hasReceipt = asset["receipt"]?.string.map { tickets.isReceipt($0, of: checksum, at: now) } ?? false
        guard try hasReceipt ? true : isInStore(checksum) else {
            throw .bad(
                "value.receipt: it is missing, has expired, or is not the receipt of this file; send the file first")
        }
        return ByteBuffer.object { json in
            json.append("fileChecksum", checksum)
            if let size = files.size(of: checksum) {
                json.append("size", size)
            } else {
                json.append("size", asset["size"])
            }
        }.text
    }

    private func isInStore(_ checksum: String) throws(ServiceError) -> Bool {
        try ServiceError.ofStore { () throws(RecordStoreError) in try store.hasAsset(checksum, in: database) }
    }
}
