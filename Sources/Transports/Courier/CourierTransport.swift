import Dispatch
import EventLog
import Foundation
import HTTPServer
import PipelineKit
import Synchronization
import Time

/// Serves CloudKit's web clients over HTTP: an inbox for each user, and a long poll for each device.
///
/// A push is accepted once it is in the store. It is then as durable as an event in the pipeline's logs. A repeated
/// push, recognised by its `apns-id`, adds nothing. A log of marks beside the store records the pushes that polls took,
/// the pushes that users have read, and the pushes that came after a newer push. The store is a cache: if it is
/// missing, damaged or from another pipeline, it is rebuilt from the log of marks, the stage's log and the log of
/// pushes. If the log of pushes is on another machine, a missing or damaged store begins empty instead.
///
/// Rules: CloudKit Web Services, tokens/create (the courier's URL); CKFetchNotificationChangesOperation;
/// CKMarkNotificationsReadOperation.
package final class CourierTransport: Transport {
    package typealias Settings = CourierSettings

    package static let kind = "courier"
    /// Each courier listens at a port, and its clients do not know their lane.
    package static let canRunInLanes = false

    /// How long pushes are deferred if they cannot be stored.
    private static let pause = Duration.seconds(1)

    private let settings: CourierSettings
    private let context: TransportContext
    let storeQueue: CourierStoreQueue
    private let now: @Sendable () -> Instant
    private let server = Mutex<WebServer?>(nil)
    /// The home of the log of marks; nil for local files alone.
    private let home = Mutex<(any LogHome)?>(nil)
    private let certificates: CertificateWatch
    /// The certificate for new connections, and the settings from which it was read.
    private let current: Mutex<(certificate: ServerCertificate?, settings: CourierSettings)>

    package convenience init(_ settings: CourierSettings, context: TransportContext) throws(SettingsError) {
        self.init(settings, context: context, now: { .wall() })
    }

    init(_ settings: CourierSettings, context: TransportContext, now: @escaping @Sendable () -> Instant) {
        self.settings = settings
        self.context = context
        self.now = now
        storeQueue = CourierStoreQueue(now: now)
        certificates = CertificateWatch(context)
        current = Mutex((nil, settings))
    }

    package func open() async throws(TransportError) {
        guard let store = settings.store ?? context.folder.map({ "\($0)/\(context.name).sqlite" }) else {
            throw TransportError("the courier has no folder for its SQLite file: set `store`")
        }
        let tls = try certificate(of: settings)
        do {
            let opened = try context.openHome()
            home.withLock { $0 = opened }
            try await storeQueue.open(plan(store, opened))
        } catch {
            throw TransportError("\(store): \(error); free space on its disk, or set another `store`")
        }
        do { try await listen(tls) } catch {
            await storeQueue.close()
            throw unavailable(error)
        }
        certificates.reportEndingCertificates(in: settings, now: now())
    }

    /// Prepares the use of a changed certificate for new connections. Returns nil for other changes, so that the
    /// courier is replaced. If the address changes, this method first checks that the courier can listen at the new
    /// address.
    package func change(to settings: CourierSettings) async throws(TransportError) -> TransportChange? {
        let tls = try certificate(of: settings)
        if let tls, let server = server.withLock({ $0 }), settings.matchesExceptCertificateFiles(self.settings) {
            let isSame = current.withLock { $0.certificate?.own } == tls.own
            return TransportChange(descriptions: isSame ? [] : ["uses another certificate"]) { [self] in
                server.use(tls)
                current.withLock { $0 = (tls, settings) }
            }
        }
        guard settings.address != self.settings.address else { return nil }
        do { try await WebServer.checkCanListen(at: settings.address) } catch {
            throw unavailable(error)
        }
        return nil
    }

    /// The failure of a courier that cannot listen.
    private func unavailable(_ error: any Error) -> TransportError {
        var failure = TransportError("transports.\(context.name).listen: \(error)")
        failure.isUnavailable = true
        return failure
    }

    private func certificate(of settings: CourierSettings) throws(TransportError) -> ServerCertificate? {
        do throws(SettingsError) { return try settings.tls?.open() } catch { throw TransportError(error) }
    }

    /// The port that clients connect to; nil while closed.
    var port: Int? { server.withLock { $0?.port } }

    private func listen(_ certificate: ServerCertificate?) async throws {
        let service = Service(storeQueue: storeQueue, pollTimeout: settings.pollTimeout, origins: settings.origins)
        var options = WebServerOptions(settings.address)
        (options.limits, options.certificate) = (CourierLimits.server, certificate)
        if settings.isBehindTLS { options.forwardedClient = WebServerOptions.lastForwardedClient }
        options.refuse = { refusal, headers, _ in
            var answer = WebResponse.refusal(refusal)
            service.complete(&answer, to: headers)
            return answer
        }
        let started = try await WebServer.start(options) { await service.answer($0) }
        server.withLock { $0 = started }
        current.withLock { $0.certificate = certificate }
    }

    private func plan(_ store: String, _ home: (any LogHome)?) -> CourierStorePlan {
        CourierStorePlan(
            transport: context.name, store: store, outcomes: context.folder, pushes: context.inputLog,
            sync: context.sync, home: home, mode: context.mode, keep: settings.keep, keepPerUser: settings.keepPerUser
        ) { line in
            FileHandle.standardError.write(Data("courier: \(line)\n".utf8))
        }
    }

    package func close() async {
        guard let server = server.withLock({ $0.take() }) else { return }
        async let stopped: Void = server.stop(within: CourierLimits.closeWait)
        let home = home.withLock { $0 }
        DispatchQueue.global().schedule(after: CourierLimits.closeWait) { home?.interrupt() }
        await storeQueue.close()
        do { try await stopped } catch { context.tell("\(context.name): \(error)") }
    }

    /// Stores pushes. Defers them if the store cannot be written now. Pushes fail if they are unreadable or not of a
    /// CloudKit app, or if the transport is not open. Pushes with a malformed token get the outcome for an unknown
    /// address.
    package func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        certificates.reportEndingCertificates(in: current.withLock { $0.settings }, now: now())
        var reader = PushReader()
        var (readable, answers): ([CourierPush], [TransportAnswer]) = ([], [])
        for push in pushes {
            do throws(CourierPush.Refusal) { readable.append(try CourierPush(push, &reader)) } catch {
                answers.append(error.answer(push.id))
            }
        }
        return answers + (await store(readable))
    }

    private func store(_ pushes: [CourierPush]) async -> [TransportAnswer] {
        do {
            let isOpen = try await storeQueue.ask { try $0.accept(pushes, now: $1) } != nil
            return pushes.map { push in
                isOpen
                    ? TransportAnswer(push.id, .accepted)
                    : TransportAnswer(push.id, .failed, reason: "the transport is not open", attempts: 0)
            }
        } catch {
            let until = now().advanced(by: Self.pause)
            return pushes.map { TransportAnswer($0.id, .deferred, reason: "\(error)", attempts: 0, until: until) }
        }
    }
}
