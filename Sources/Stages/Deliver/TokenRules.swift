import PipelineKit

/// Checks tokens with ``Transport/address(_:)`` of their transports. Accepts every token if the settings allow any
/// token, or if the pipeline does not have the token's transport.
struct TokenRules {
    private var transports: [String: any Transport.Type] = [:]

    init() {}

    init(_ settings: DeliverSettings, _ registry: Registry) {
        guard settings.tokens == .checked else { return }
        for binding in settings.transports { transports[binding.name] = registry.transports[binding.kind] }
    }

    func address(_ token: String, at transport: String) throws(Rejection) -> String {
        try transports[transport]?.address(token) ?? token
    }
}
