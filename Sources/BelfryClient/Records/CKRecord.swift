/// Contains only types for the parts of a record, such as ``ID`` and ``FieldKey``. In CloudKit, `CKRecord` is also the
/// class of records, which this client does not have.
public enum CKRecord {
    /// The name of a record type, such as `Note`.
    public typealias RecordType = String
    /// A field's name.
    public typealias FieldKey = String
}
