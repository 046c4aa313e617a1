import Glibc
import JSON
import Predicates

/// Divides the Earth into cells: at level n there are 2ⁿ bands of latitude and 2ⁿ bands of longitude.
enum Grid {
    static let levelMax = 16

    /// At most four cells that together contain the circle, on the finest level whose cells are at least as high and as
    /// wide as the circle.
    ///
    /// A circle that contains a pole, or whose radius is at least a quarter of the Earth's circumference, gets the only
    /// cell of level 0.
    static func cells(_ circle: Circle) -> (level: Int, cells: [UInt64]) {
        // In degrees: about a millimetre on the ground, which is far more than all rounding errors.
        let slack = 1e-8
        let angle = circle.radius / Circle.earthRadius
        let height = angle * 180 / .pi + slack
        let (south, north) = (circle.latitude - height, circle.latitude + height)
        guard angle < .pi / 2, south > -90, north < 90 else { return (0, [cell(0, 0, 0)]) }
        let width = asin(min(1, sin(angle) / cos(circle.latitude * .pi / 180))) * 180 / .pi + slack
        let (west, east) = (circle.longitude - width, circle.longitude + width)
        let level = (0...levelMax).last { north - south <= size(180, $0) && east - west <= size(360, $0) } ?? 0
        var cells: Set<UInt64> = []
        for latitude in [south, north] {
            for longitude in [west, east] { cells.insert(self.cell(level, latitude, longitude)) }
        }
        return (level, cells.sorted())
    }

    @inline(__always)
    static func cell(_ level: Int, _ latitude: Double, _ longitude: Double) -> UInt64 {
        let bands = 1 << level
        let row = min(Int(((latitude + 90) / size(180, level)).rounded(.down)), bands - 1)
        let column = Int(((longitude + 180) / size(360, level)).rounded(.down)) & (bands - 1)
        return UInt64(level) << 48 | UInt64(row) << 24 | UInt64(column)
    }

    private static func size(_ whole: Double, _ level: Int) -> Double { whole / Double(1 << level) }
}
