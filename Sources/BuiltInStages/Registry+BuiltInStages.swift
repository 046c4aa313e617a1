import Coalesce
import Deliver
import Ingest
import Match
import Payload
import PipelineKit

extension Registry {
    /// Belfry's own stages and coalescing policies. Even the program of a single stage contains the code of all
    /// stages, because it needs the names of their logs.
    package static var builtInStages: Registry {
        var registry = Registry()
        registry.register(IngestStage.self)
        registry.register(MatchStage.self)
        registry.register(CoalesceStage.self)
        registry.register(PayloadStage.self)
        registry.register(DeliverStage.self)
        registry.register(Latest.self)
        registry.register(Debounce.self)
        registry.register(Uncoalesced.self)
        return registry
    }
}
