import BuiltInStages
import PipelineKit
import TransportAPNs
import TransportCourier
import TransportFile
import TransportWebhook

extension Registry {
    /// The stages, transports and coalescing policies that Belfry brings along.
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
