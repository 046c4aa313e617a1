import PipelineKit

/// What each of the pipeline's transports asks of a token: see ``Transport/address(_:)``.
struct TokenRules {
    private var transports: [String: any Transport.Type] = [:]

    /// None at all.
    init() {}

    init(_ settings: DeliverSettings, _ registry: Registry) {
        guard settings.tokens == .checked else { return }
        for binding in settings.transports { transports[binding.name] = registry.transports[binding.kind] }
    }

    func address(_ token: String, at transport: String) throws(Rejection) -> String {
        try transports[transport]?.address(token) ?? token
    }
}
