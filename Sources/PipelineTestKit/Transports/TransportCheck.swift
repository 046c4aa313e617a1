import JSON
import PipelineKit

/// Tries whether a transport keeps to what deliver relies on.
///
///     let check = try TransportCheck(Pager.self, settings: "url: http://127.0.0.1:\(pager.port)/", peer: pager.peer)
///     let problems = await check.problems()
///     #expect(problems == [])
///
/// One answer for each push, under the push's own ID; the order of each device; what cannot be read, what comes before
/// `open()` and after `close()`; cancellation; a slow other side; and what is left of a transport that was closed.
///
/// Sends to the real other side that the settings name, which must take every push: a server of the test's own, best of
/// all. Threads and files are counted in the whole process, so other tests had better not run beside it for long.
public struct TransportCheck: Sendable {
    let peer: TransportPeer
    let maker: CheckedPushes
    let limit: Duration
    private let make: @Sendable () throws -> any Transport

    /// - Parameters:
    ///   - settings: The transport's, as a pipeline file has them.
    ///   - context: What it knows of where it runs; pushes are made out to its name.
    ///   - app: Whose pushes they are.
    ///   - limit: How long anything may take that is to end soon.
    /// - Throws: ``PipelineKit/PipelineFileError``, ``PipelineKit/SettingsError`` where the settings are refused.
    public init<T: Transport>(
        _ transport: T.Type, settings: String,
        context: TransportContext = TransportContext(name: "check", console: { _ in }), peer: TransportPeer,
        app: Delivery.App = .init(
            container: "iCloud.com.example.Notes", environment: "development", topic: "com.example.Notes"),
        limit: Duration = .seconds(20)
    ) throws {
        let settings = try SettingsReader(text: settings, file: "settings").decode(T.Settings.self)
        self.init(peer: peer, maker: CheckedPushes(app: app, transport: context.name), limit: limit) {
            try T(settings, context: context)
        }
        _ = try made()
    }

    init(
        peer: TransportPeer, maker: CheckedPushes, limit: Duration, make: @escaping @Sendable () throws -> any Transport
    ) {
        self.peer = peer
        self.maker = maker
        self.limit = limit
        self.make = make
    }

    /// What is wrong, each beginning with the rule that is broken; nothing where all is well.
    public func problems() async -> [String] {
        var problems: [String] = []
        for (rule, attempt) in Self.rules {
            do { try await attempt(self)() } catch { problems.append("\(rule): \(error)") }
        }
        return problems
    }

    private static let rules: [(String, @Sendable (TransportCheck) -> @Sendable () async throws -> Void)] = [
        ("each push has one answer, and each device its order", { $0.checkAnswers }),
        ("what cannot be read disturbs nothing else", { $0.checkUnreadable }),
        ("an empty window ends at once", { $0.checkEmptyWindow }),
        ("deliver answers before open", { $0.checkBeforeOpen }),
        ("close may come twice, and deliver answers after it", { $0.checkAfterClose }),
        ("close may come without open", { $0.checkCloseAlone }),
        ("a cancelled deliver ends soon", { $0.checkCancelledAtOnce }),
        ("a deliver cancelled under way ends soon", { $0.checkCancelledUnderWay }),
        ("close ends what is under way", { $0.checkClosedUnderWay }),
        ("a deferred push is joined or sent under the same apns-id", { $0.checkDeferred }),
        ("close lets go of threads and files", { $0.checkLettingGo }),
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

    func made() throws -> any Transport { try make() }

    /// What `deliver` gives in time.
    func answers(of transport: any Transport, to window: [Delivery]) async throws -> [TransportAnswer] {
        try await within(limit, "deliver") { await transport.deliver(window) }
    }
}

/// The other side of a transport that is tried.
public struct TransportPeer: Sendable {
    /// The `apns-id`s of the pushes that came so far, in their order, each as often as it came.
    let arrivals: @Sendable () async throws -> [String]
    let pause: @Sendable () async throws -> Void
    let resume: @Sendable () async throws -> Void
    let readsPushes: Bool

    /// - Parameters:
    ///   - readsPushes: False for a transport that passes bytes on as they are: it cannot know a push that is none.
    ///   - arrivals: The `apns-id`s of the pushes that came so far, in their order, each as often as it came.
    ///   - pause: From now on takes pushes without an answer. Where nothing can be slow there is nothing to do.
    ///   - resume: Answers again, also what came meanwhile.
    public init(
        readsPushes: Bool = true, arrivals: @escaping @Sendable () async throws -> [String],
        pause: @escaping @Sendable () async throws -> Void = {},
        resume: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.readsPushes = readsPushes
        self.arrivals = arrivals
        self.pause = pause
        self.resume = resume
    }
}
