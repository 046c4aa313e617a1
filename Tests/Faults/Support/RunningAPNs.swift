import Foundation
import LocalAPNs
import TestSupport

/// A running local APNs, with a folder of its own.
final class RunningAPNs: Sendable {
    let folder: Folder
    private let apns: LocalAPNs

    init(script: String? = nil, streams: Int = 1_000) async throws {
        folder = try Folder()
        var configuration = LocalAPNs.Configuration()
        (configuration.port, configuration.folder, configuration.streams) = (0, folder.path, streams)
        apns = try await LocalAPNs.start(configuration)
        if let script { try await apns.control(script) }
    }

    var key: String { folder.file("AuthKey_KEYLOCAL12.p8") }

    var accepted: [RecordedRequest] { apns.received.filter { $0.status == 200 } }

    /// The settings of a transport to this APNs.
    ///
    /// - Parameters:
    ///   - key: The path of the key file. Nil for the key of this APNs.
    ///   - apps: Further apps, each after a comma.
    ///   - more: Further settings, each after a comma.
    func transport(key: String? = nil, apps: String = "", more: String = "") -> String {
        """
        {use: apns, host: 127.0.0.1, port: \(apns.port), trust: \(folder.file("ca.pem")), apps: {notes: \
        {container: iCloud.com.example.Notes, topic: com.example.Notes, team: TEAMLOCAL1, key: KEYLOCAL12, \
        keyFile: {$file: \(key ?? self.key)}}\(apps)}\(more)}
        """
    }

    /// Overwrites the key file of another local APNs with this server's key.
    func copyKey(to other: RunningAPNs) throws {
        let key = try Data(contentsOf: URL(fileURLWithPath: key))
        try key.write(to: URL(fileURLWithPath: other.key))
    }

    func stop() async throws { try await apns.stop() }
}
