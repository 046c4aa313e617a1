import Foundation
import JSON

extension CKRecord {
    /// What happens to a record when the record that it references is deleted.
    public enum ReferenceAction: UInt, Sendable, BitwiseCopyable {
        case none = 0
        case deleteSelf = 1
    }

    /// CloudKit's name for the type ``CKReference``.
    public typealias Reference = CKReference
}

/// A field's value that references another record.
open class CKReference: NSObject, NSCopying, NSSecureCoding {
    /// The referenced record.
    open var recordID: CKRecord.ID { target }
    /// What happens to the referencing record when the referenced record is deleted.
    open var action: CKRecord.ReferenceAction { consequence }
    private let target: CKRecord.ID
    private let consequence: CKRecord.ReferenceAction

    /// Makes a reference to a record. The record need not exist.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        (target, consequence) = (recordID, action)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let reference = Archive.decode(from: coder, CKReference.init(json:)) else { return nil }
        (target, consequence) = (reference.target, reference.consequence)
    }

    open func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID.isEqual(other.recordID) && action == other.action
    }

    open override var hash: Int { recordID.hash }

    open override var description: String { "<CKReference to \(recordID), \(action)>" }
}

extension CKRecord.ReferenceAction {
    /// CloudKit Web Services also has the action `VALIDATE`, which CloudKit's clients read as no action.
    init(word: String?) { self = word == "DELETE_SELF" ? .deleteSelf : .none }
}

extension CKReference {
    convenience init?(json: JSONValue) {
        guard let recordID = CKRecord.ID(json: json) else { return nil }
        self.init(recordID: recordID, action: CKRecord.ReferenceAction(word: json["action"]?.string))
    }

    func write(into buffer: inout ByteBuffer) {
        buffer.append("{")
        recordID.writeMembers(into: &buffer)
        buffer.append(action == .deleteSelf ? ",\"action\":\"DELETE_SELF\"}" : ",\"action\":\"NONE\"}")
    }
}
