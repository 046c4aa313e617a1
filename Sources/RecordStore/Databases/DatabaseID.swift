import CloudKitModel
import Events
import JSON

/// Names one database of one container and environment.
package struct DatabaseID: Hashable, Sendable {
    package let container: String
    package let environment: ContainerEnvironment
    package let scope: DatabaseScope
    /// The user whose database it is; nil for the public database.
    package let owner: String?

    /// - Parameter owner: Ignored for the public database.
    /// - Precondition: A private or shared database has an owner.
    package init(container: String, environment: ContainerEnvironment, scope: DatabaseScope, owner: String?) {
        precondition(scope == .public || owner?.isEmpty == false, "a \(scope.word) database without an owner")
        (self.container, self.environment, self.scope) = (container, environment, scope)
        self.owner = scope == .public ? nil : owner
    }
}

/// Names one user of one container and environment.
package struct AccountID: Hashable, Sendable {
    package let container: String
    package let environment: ContainerEnvironment
    package let user: String

    package init(container: String, environment: ContainerEnvironment, user: String) {
        (self.container, self.environment, self.user) = (container, environment, user)
    }
}

extension DatabaseID {
    /// Reads columns 0 to 3: container, environment, scope and owner. Nil if Belfry does not know the environment or
    /// the scope.
    init?(_ row: SQLRow) {
        let (environmentWord, scopeWord) = (row.text(1), row.text(2))
        guard
            let environment = ContainerEnvironment.allCases.first(where: { $0.word.description == environmentWord }),
            let scope = DatabaseScope.allCases.first(where: { $0.word.description == scopeWord })
        else { return nil }
        self.init(
            container: row.text(0), environment: environment, scope: scope, owner: scope == .public ? nil : row.text(3))
    }
}

extension DatabaseID {
    /// The database that an event of the changes log names. Nil if the container is missing, or if the environment or
    /// the scope is missing or unknown. Also nil if the database is private or shared and the event does not name its
    /// owner. A `subscription.save`, for example, never names the owner.
    init?(of event: JSONValue) {
        let environment = ContainerEnvironment.allCases.first { event[.environment]?.equals($0.word) ?? false }
        let scope = DatabaseScope.allCases.first { event[.database]?.equals($0.word) ?? false }
        let owner = event[.owner]?.string
        guard let container = event[.container]?.string, let environment, let scope, scope == .public || owner != nil
        else { return nil }
        self.init(container: container, environment: environment, scope: scope, owner: owner)
    }
}
