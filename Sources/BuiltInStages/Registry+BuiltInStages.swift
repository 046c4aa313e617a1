import Coalesce
import Deliver
import Ingest
import Match
import Payload
import PipelineKit

extension Registry {
    /// The stages and coalescing policies that Belfry brings along. The program of one stage links all of them, because it
    /// needs the standard names of their logs.
    package static var builtInStages: Registry {
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
