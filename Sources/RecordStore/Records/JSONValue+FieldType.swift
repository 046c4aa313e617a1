import CloudKitModel
import Events
import JSON

extension JSONValue {
    /// The type of a field that has this value and names no type, as CloudKit Web Services writes it. Nil for an empty
    /// list, and for a value that fits no type.
    ///
    /// TIMESTAMP looks like a number, and BYTES look like STRING. So only the writer of a field can name these types.
    var inferredFieldType: String? { isArray ? elementType.map { "\($0)_LIST" } : scalarType }

    /// The type of the elements; nil if they have several types. In a list that also has fractions, whole numbers are
    /// DOUBLE too.
    private var elementType: String? {
        let types = Set(elements.filter { !$0.isNull }.map(\.scalarType))
        return types == ["INT64", "DOUBLE"] ? "DOUBLE" : types.count == 1 ? types.first ?? nil : nil
    }

    private var scalarType: String? {
        switch kind {
        case .string: "STRING"
        case .number: int64 == nil ? "DOUBLE" : "INT64"
        case .object: objectType
        case .null, .true, .false, .array: nil
        }
    }

    private var objectType: String? {
        do throws(ModelError) {
            if self[.recordName] != nil {
                try Reference.check(self)
                return "REFERENCE"
            }
            if let checksum = self["fileChecksum"] { return checksum.isString ? "ASSETID" : nil }
            try Location.check(self)
            return "LOCATION"
        } catch { return nil }
    }
}
