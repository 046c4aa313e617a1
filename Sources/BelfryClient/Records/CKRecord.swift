/// The namespace of the types of a record's parts, under CloudKit's name for records.
public enum CKRecord {
    /// The name of a record type, such as `Note`.
    public typealias RecordType = String
    /// A field's name.
    public typealias FieldKey = String
}
