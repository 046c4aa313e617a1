import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// A file with one secret CURVE key of 40 Z85 characters. Only its owner may read it.
struct KeyFile {
    let path: String

    /// The file with the next key, which will replace the key in this file.
    var next: KeyFile { KeyFile(path: path + ".next") }

    var exists: Bool { access(path, F_OK) == 0 }

    /// - Throws: ``ToolFailure`` with status 66 if there is no file, and with 78 if the file contains no secret key;
    ///   `SecretFileError` if the file cannot be read, or if other users may read it.
    func pair() throws -> CurveKeyPair {
        guard exists else {
            throw ToolFailure(.noInput, "there is no key file \(path); make one with `belfry curve make \(path)`")
        }
        let text = try SecretFile.read(path)
        do throws(ZMQError) { return try CurveKeyPair(secretKey: CurveSecretKey(z85: text)) } catch {
            throw ToolFailure(.configuration, "\(path) does not contain a secret key, which has 40 characters of Z85")
        }
    }

    /// Makes a new key.
    ///
    /// - Throws: ``ToolFailure`` with status 73 if the file exists or cannot be made.
    func make() throws -> CurveKeyPair {
        let pair = try CurveKeyPair.generate()
        do throws(AtomicTextFileError) { try AtomicTextFile.make(path, holding: pair.secretKey.z85 + "\n") } catch {
            if case .failed(_, _, EEXIST) = error {
                throw ToolFailure(.cannotCreate, "\(path) exists already; it was not changed")
            }
            throw ToolFailure(.cannotCreate, error.description)
        }
        return pair
    }

    /// Replaces this key by the next one. A process that reads the file meanwhile gets either the old key or the new
    /// key.
    func replaceByNext() throws -> CurveKeyPair {
        guard next.exists else {
            throw ToolFailure(.noInput, "there is no \(next.path); make it with `belfry curve rotate \(path)`")
        }
        let pair = try next.pair()
        guard rename(next.path, path) == 0 else {
            let reason = String(cString: strerror(errno))
            throw ToolFailure(.inputOutput, "cannot replace \(path) by \(next.path): \(reason)")
        }
        return pair
    }
}
