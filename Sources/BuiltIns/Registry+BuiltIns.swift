import Coalesce
import Deliver
import Ingest
import Match
import Payload
import PipelineKit
import TransportAPNs
import TransportCourier
import TransportFile
import TransportWebhook

extension Registry {
    /// The stages, transports and coalescing policies that Belfry brings along.
    public static var builtIns: Registry {
        var registry = Registry()
        registry.register(IngestStage.self)
        registry.register(MatchStage.self)
        registry.register(CoalesceStage.self)
        registry.register(PayloadStage.self)
        registry.register(DeliverStage.self)
        registry.register(APNsTransport.self)
        registry.register(CourierTransport.self)
        registry.register(FileTransport.self)
        registry.register(ConsoleTransport.self)
        registry.register(WebhookTransport.self)
        registry.registerPolicies()
        return registry
    }
}
