/// One of APNs' two environments, which have different device tokens.
package enum Environment: String, Sendable, CaseIterable {
    case development
    case production
}
