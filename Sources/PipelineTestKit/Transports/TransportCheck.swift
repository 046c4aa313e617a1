import JSON
import PipelineKit

/// Checks whether a transport follows the rules that the deliver stage relies on.
///
///     let check = try TransportCheck(PagerTransport.self, settings: "url: \(pager.url)", peer: pager.peer)
///     let problems = await check.problems()
///     #expect(problems == [])
///
/// Each push must have one answer with its own ID, and each device's pushes must keep their order. The checks also
/// cover unreadable pushes, pushes before `open()` and after `close()`, cancellation, a slow server, and the resources
/// of closed transports.
///
/// The pushes go to the server in the settings, which must accept them all. A server inside the test is best. Threads
/// and files are counted in the whole process, so other tests should not run at the same time.
public struct TransportCheck: Sendable {
    let peer: TransportPeer
    let samples: SamplePushes
    let limit: Duration
    let make: @Sendable () throws -> any Transport

    /// - Parameters:
    ///   - settings: The transport's settings, as in a pipeline file.
    ///   - context: The transport's context. The pushes name the context's `name` as their transport.
    ///   - app: The app of the pushes.
    ///   - limit: The time limit for a step, such as one `deliver` or one `close`. There is no limit for `open` and for
    ///     the `close` at the end of a check.
    /// - Throws: ``PipelineKit/PipelineFileError`` or ``PipelineKit/SettingsError`` if the settings are invalid.
    public init<T: Transport>(
        _ transport: T.Type, settings: String,
        context: TransportContext = TransportContext(name: "check", console: { _ in }), peer: TransportPeer,
        app: Delivery.App = .init(
            container: "iCloud.com.example.Notes", environment: "development", topic: "com.example.Notes"),
        limit: Duration = .seconds(20)
    ) throws {
        let settings = try SettingsReader(text: settings, file: "settings").decode(T.Settings.self)
        self.init(peer: peer, samples: SamplePushes(app: app, transport: context.name), limit: limit) {
            try T(settings, context: context)
        }
        _ = try make()
    }

    init(
        peer: TransportPeer, samples: SamplePushes, limit: Duration,
        make: @escaping @Sendable () throws -> any Transport
    ) {
        (self.peer, self.samples, self.limit, self.make) = (peer, samples, limit, make)
    }

    /// The broken rules, each with what the check observed.
    public func problems() async -> [String] {
        // The peer also reports the pushes of earlier calls of this function. So each call makes its own pushes, with
        // new `apns-id`s.
        let samples = SamplePushes(app: samples.app, transport: samples.transport)
        let check = TransportCheck(peer: peer, samples: samples, limit: limit, make: make)
        var problems: [String] = []
        for (rule, attempt) in Self.rules {
            do { try await attempt(check)() } catch { problems.append("\(rule): \(error)") }
        }
        return problems
    }

    private static let rules: [(String, @Sendable (TransportCheck) -> @Sendable () async throws -> Void)] = [
        ("each push has one answer, and each device's pushes keep their order", { $0.checkAnswers }),
        ("an unreadable push fails and does not disturb others", { $0.checkUnreadable }),
        ("deliver returns at once for an empty batch", { $0.checkEmptyBatch }),
        ("deliver answers before open", { $0.checkBeforeOpen }),
        ("close may be called twice, and deliver answers after it", { $0.checkAfterClose }),
        ("close may be called without open", { $0.checkCloseAlone }),
        ("a deliver that is cancelled at once ends soon", { $0.checkCancelledAtOnce }),
        ("a deliver that is cancelled in flight ends soon", { $0.checkCancelledInFlight }),
        ("close ends deliveries in flight", { $0.checkClosedInFlight }),
        (
            "a deferred push arrives with its apns-id, and arrives twice only if its answer says that it may",
            { $0.checkDeferred }
        ),
        ("a closed transport is freed, with its threads and files", { $0.checkResources }),
    ]

    /// Runs `body` with a transport that is open, and closes it.
    func withOpen(_ body: (any Transport) async throws -> Void) async throws {
        let transport = try make()
        try await transport.open()
        do { try await body(transport) } catch {
            await transport.close()
            throw error
        }
        await transport.close()
    }

    /// The answers of `deliver`, within the time limit.
    func answers(of transport: any Transport, to batch: [Delivery]) async throws -> [TransportAnswer] {
        try await within(limit, "deliver") { await transport.deliver(batch) }
    }
}

/// The server that a checked transport sends to.
public struct TransportPeer: Sendable {
    let arrivals: @Sendable () async throws -> [String]
    let pause: @Sendable () async throws -> Void
    let resume: @Sendable () async throws -> Void
    let transportReadsPushes: Bool

    /// - Parameters:
    ///   - transportReadsPushes: False for a transport that sends bytes without reading them, and so accepts unreadable
    ///     pushes too.
    ///   - arrivals: The `apns-id`s of all pushes that arrived so far, in order, with repeats.
    ///   - pause: Stops answering pushes. Not needed for a server that cannot be slow.
    ///   - resume: Answers again, including the pushes that arrived meanwhile.
    public init(
        transportReadsPushes: Bool = true, arrivals: @escaping @Sendable () async throws -> [String],
        pause: @escaping @Sendable () async throws -> Void = {},
        resume: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.transportReadsPushes = transportReadsPushes
        self.arrivals = arrivals
        self.pause = pause
        self.resume = resume
    }
}
