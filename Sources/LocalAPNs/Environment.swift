/// One of the two services, each with its own device tokens.
package enum Environment: String, Sendable, CaseIterable {
    case development
    case production
}
