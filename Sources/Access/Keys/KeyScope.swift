import CloudKitModel

/// The container, environments and databases that a key may be used for.
package struct KeyScope: Hashable, Sendable {
    /// Nil: every container.
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

    /// - Throws: `ACCESS_DENIED` for a place outside of the scope.
    func check(_ place: WebServicesPath) throws(AccessError) {
        guard container == nil || container == place.container else {
            throw .outOfScope(Field.container, "the key is for another container")
        }
        guard environments.contains(place.environment) else {
            throw .outOfScope(Field.environment, "the key is not for \(place.environment.word)")
        }
        guard let database = place.database, !databases.contains(database) else { return }
        throw .outOfScope(Field.database, "the key is not for the \(database.word) database")
    }
}

extension AccessError {
    fileprivate static func outOfScope(_ field: String, _ problem: String) -> AccessError {
        AccessError(.accessDenied, field, problem)
    }
}
