import JSON

extension JSONValue {
    /// The type of a field that has this value and names no type, as CloudKit Web Services writes it. Nil for an empty
    /// list, and for a value that fits no type.
    ///
    /// TIMESTAMP looks like a number, and BYTES look like STRING. So only the writer of a field can name these types.
    var inferredFieldType: String? { isArray ? elementType.map { "\($0)_LIST" } : scalarType }

    /// The type of the elements. Whole numbers among others are DOUBLE too.
    private var elementType: String? {
        let types = elements.compactMap(\.scalarType)
        return types.first == "INT64" && types.contains("DOUBLE") ? "DOUBLE" : types.first
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
        if self[.recordName] != nil { return "REFERENCE" }
        if self["fileChecksum"] != nil { return "ASSETID" }
        return self["latitude"] != nil && self["longitude"] != nil ? "LOCATION" : nil
    }
}
