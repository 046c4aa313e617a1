import PipelineKit

extension Registry {
    /// Adds the policies that Belfry brings along.
    package mutating func registerPolicies() {
        register(Latest.self)
        register(Debounce.self)
        register(Uncoalesced.self)
    }
}
