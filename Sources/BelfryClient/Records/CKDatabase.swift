import CloudKitModel

/// Contains only the type ``Scope``. In CloudKit, `CKDatabase` is also the class of databases, which this client does
/// not have.
public enum CKDatabase {
    /// One of a container's three databases. The raw values are CloudKit's, not the codes of a payload.
    public enum Scope: Int, CaseIterable, Sendable, BitwiseCopyable {
        case `public` = 1
        case `private` = 2
        case shared = 3
    }
}

extension CKDatabase.Scope {
    /// Reads the code `dbs` of a payload: 1 private, 2 public, 3 shared; nil for another code.
    init?(wireCode: Int) {
        switch DatabaseScope(rawValue: wireCode) {
        case .private: self = .private
        case .public: self = .public
        case .shared: self = .shared
        case nil: return nil
        }
    }

    var model: DatabaseScope {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}
