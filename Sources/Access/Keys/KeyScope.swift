import CloudKitModel

/// The container, environments and databases that a key may be used for.
package struct KeyScope: Hashable, Sendable {
    /// Nil for every container.
    package var container: String?
    package var environments: Set<ContainerEnvironment>
    package var databases: Set<DatabaseScope>
    package var isReadOnly: Bool

    package init(
        container: String?, environments: Set<ContainerEnvironment> = Set(ContainerEnvironment.allCases),
        databases: Set<DatabaseScope> = Set(DatabaseScope.allCases), isReadOnly: Bool = false
    ) {
        self.container = container
        self.environments = environments
        self.databases = databases
        self.isReadOnly = isReadOnly
    }

    /// How the key file and the commands write "every container".
    package static let everyContainer = "*"

    /// - Throws: `ACCESS_DENIED` if the path's container, environment or database is outside the scope.
    func check(_ path: WebServicesPath) throws(AccessError) {
        guard container == nil || container == path.container else {
            throw .outOfScope(Field.container, "the key is for another container")
        }
        guard environments.contains(path.environment) else {
            throw .outOfScope(Field.environment, "the key is not for \(path.environment.word)")
        }
        guard let database = path.database, !databases.contains(database) else { return }
        throw .outOfScope(Field.database, "the key is not for the \(database.word) database")
    }
}

extension AccessError {
    fileprivate static func outOfScope(_ field: String, _ problem: String) -> AccessError {
        AccessError(.accessDenied, field, problem)
    }
}
