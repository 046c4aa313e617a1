import BuiltInStages
import PipelineKit
import TransportAPNs
import TransportCourier
import TransportFile
import TransportWebhook

extension Registry {
    /// Belfry's own stages, transports and coalescing policies.
    package static var builtIns: Registry {
        var registry = Registry.builtInStages
        registry.register(APNsTransport.self)
        registry.register(CourierTransport.self)
        registry.register(FileTransport.self)
        registry.register(ConsoleTransport.self)
        registry.register(WebhookTransport.self)
        return registry
    }
}
