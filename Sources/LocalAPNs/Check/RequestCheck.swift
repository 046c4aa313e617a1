/// Decides what APNs would answer. The checks run in a fixed order, and the first that fails decides the answer.
///
/// The decision depends only on the environment, the quirks, the request, the state of the connection, the registry and
/// the time.
package struct RequestCheck: Sendable {
    package var environment: Environment
    package var quirks: Quirks

    package init(_ environment: Environment, quirks: Quirks = Quirks()) {
        self.environment = environment
        self.quirks = quirks
    }

    /// Applies all rules of APNs. Scripts are applied elsewhere.
    ///
    /// - Parameter now: Milliseconds since 1970.
    /// - Parameter hasBody: False if the body has not arrived yet. The body is then not checked.
    /// - Returns: Nil if the push is accepted.
    package func refusal(
        of inspection: inout Inspection, on connection: inout ConnectionState, by registry: inout Registry,
        at now: Int64, hasBody: Bool = true
    ) -> Refusal? {
        do throws(Refusal) {
            try checkShape(inspection, hasBody: hasBody)
            try checkIdentity(&inspection, on: &connection, by: &registry, at: now)
            inspection.isAuthenticated = true
            connection.noteAuthenticatedPush(with: registry)
            try checkFields(&inspection)
            try checkTopic(&inspection, on: connection, by: registry)
            try checkDeviceToken(&inspection, by: registry)
            if hasBody { try checkBody(&inspection) }
            try checkDevice(inspection, by: registry)
            return nil
        } catch {
            return error
        }
    }
}
