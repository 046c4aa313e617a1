import Foundation

extension LocalAPNs {
    /// How a local APNs is to be.
    package struct Configuration: Sendable {
        /// The service that the server stands for.
        package var environment = Environment.development
        /// The address to listen at.
        package var host = "127.0.0.1"
        /// 0: any that is free.
        package var port = 2197
        /// More names that clients know the server by, for its certificate.
        package var names: [String] = []
        /// The most streams of a connection, once it is trusted.
        package var streams = 1000
        /// Where keys and certificates are made and kept.
        package var folder = ".belfry/apns-server"
        /// Ten characters each, as Apple's.
        package var keyID = "KEYLOCAL12"
        /// The team that provider tokens must name.
        package var team = "TEAMLOCAL1"
        /// A `.p8` to take instead of one of its own.
        package var keyPath: String?
        /// The app of the client certificate.
        package var topic = "com.example.Notes"
        /// The apps that its key is good for, as Apple's topic-specific keys are; nil: all of the team's.
        package var keyTopics: Set<String>?
        /// The services that its key is good for.
        package var keyEnvironments = Set(Environment.allCases)
        /// Keys beside its own.
        package var keys: [SigningKey] = []
        /// Devices that are known from the start; without ``isStrict`` there are others.
        package var devices: [Device] = []
        /// Whether there are no other devices, and no other apps.
        package var isStrict = false
        package var script: [ScriptLine] = []
        /// Milliseconds since 1970.
        package var clock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
        /// The newest so many records at least are kept for ``LocalAPNs/records``.
        package var recordsMax = 20_000
        /// Called on the server's thread for each record; while it waits, so do the clients.
        package var onRecord: @Sendable (Record) -> Void = { _ in }

        /// A server for development on port 2197 of this machine.
        package init() {}
    }
}
