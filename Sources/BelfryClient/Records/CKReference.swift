import Foundation
import JSON

extension CKRecord {
    /// What becomes of a record whose target is deleted.
    public enum ReferenceAction: UInt, Sendable, BitwiseCopyable {
        case none = 0
        case deleteSelf = 1
    }

    public typealias Reference = CKReference
}

/// A field's value that names another record.
public final class CKReference: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let recordID: CKRecord.ID
    public let action: CKRecord.ReferenceAction

    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        (self.recordID, self.action) = (recordID, action)
    }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let reference = Archive.decode(from: coder, CKReference.init(json:)) else { return nil }
        self.init(recordID: reference.recordID, action: reference.action)
    }

    public func encode(with coder: NSCoder) { Archive.encode(to: coder, write) }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID.isEqual(other.recordID) && action == other.action
    }

    public override var hash: Int { recordID.hash }

    public override var description: String { "<CKReference to \(recordID), \(action)>" }
}

extension CKRecord.ReferenceAction {
    /// Web Services also has `VALIDATE`, of which CloudKit's clients see nothing.
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
