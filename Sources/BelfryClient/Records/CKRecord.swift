/// CloudKit's name for records; here it holds the names of their parts.
public enum CKRecord {
    /// A type of records, such as `Note`.
    public typealias RecordType = String
    /// A field's name.
    public typealias FieldKey = String
}
