import Coalesce
import Deliver
import Ingest
import Match
import Payload
import PipelineKit

extension Registry {
    /// The stages and coalescing policies that Belfry brings along. Programs of one stage link them for the names of their
    /// logs.
    public static var builtInStages: Registry {
        var registry = Registry()
        registry.register(IngestStage.self)
        registry.register(MatchStage.self)
        registry.register(CoalesceStage.self)
        registry.register(PayloadStage.self)
        registry.register(DeliverStage.self)
        registry.registerPolicies()
        return registry
    }
}
